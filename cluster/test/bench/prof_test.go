package main
import ("context";"testing";"os";"fmt")
func TestProf(t *testing.T){
 for i:=0;i<4;i++{
 dir,_:=os.MkdirTemp("","p"); defer os.RemoveAll(dir)
 r,err:=measure(context.Background(), subject{"x",openCluster(1,1)}, options{keys:300000,partitions:16})
 if err!=nil{t.Fatal(err)}
 fmt.Println(r.worked)
 r,err=measure(context.Background(), subject{"x",openPlain(1)}, options{keys:300000,partitions:16})
 if err!=nil{t.Fatal(err)}
 fmt.Println("plain",r.worked)
 }
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// A place is where a small mistake can be made: bytes of a file, and what takes
// their place.
type place struct {
	number     int    // in the lot
	name       string // of the file
	text       string
	line       int
	operator   string
	start, end int
	to         string
	body, till int // of the function around it, braces included
}

type finder struct {
	place // the file and function of those to come
	file  *token.File
	found []place
}

// placesOf returns the places of a file, except those of String methods and of
// what a panic says.
func placesOf(name, text string) ([]place, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	f := finder{place: place{name: name, text: text}, file: files.File(tree.Pos())}
	for _, declaration := range tree.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Body != nil && function.Name.Name != "String" {
			f.body, f.till = f.file.Offset(function.Body.Pos()), f.file.Offset(function.Body.End())
			f.returns(function)
			ast.Inspect(function.Body, f.visit)
		}
	}
	return f.found, nil
}

func (f *finder) source(n ast.Node) string {
	return f.text[f.file.Offset(n.Pos()):f.file.Offset(n.End())]
}

func (f *finder) add(operator string, from, till token.Pos, to string) {
	p := f.place
	p.line, p.operator, p.to = f.file.Line(from), operator, to
	p.start, p.end = f.file.Offset(from), f.file.Offset(till)
	f.found = append(f.found, p)
}

// returns adds a return before each statement, if the results need no naming.
func (f *finder) returns(function *ast.FuncDecl) {
	if results := function.Type.Results; results != nil && results.List[0].Names == nil {
		return
	}
	for _, s := range function.Body.List {
		if _, last := s.(*ast.ReturnStmt); !last {
			f.add("early return", s.Pos(), s.Pos(), "return; ")
		}
	}
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.other(n.Op, n.OpPos)
		if (n.Op == token.ADD || n.Op == token.SUB) && f.source(n.Y) == "1" {
			f.add("dropped 1", n.Pos(), n.End(), f.source(n.X))
		}
	case *ast.UnaryExpr:
		f.other(n.Op, n.OpPos)
	case *ast.BranchStmt:
		f.other(n.Tok, n.TokPos)
	case *ast.IfStmt:
		f.condition(n.Cond)
		if n.Else == nil && guarded.MatchString(f.source(n.Body)) {
			f.add("removed guard", n.Pos(), n.End(), "{}")
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, c := range clause.(*ast.CaseClause).List {
				if n.Tag == nil {
					f.condition(c)
				}
			}
		}
	case *ast.CallExpr:
		f.call(n)
		return f.source(n.Fun) != "panic"
	case *ast.ForStmt:
		n.Post = nil // without its step a loop has no end, which proves nothing
	case *ast.AssignStmt:
		if end := n.TokPos + token.Pos(len(n.Tok.String())); n.Tok != token.DEFINE {
			f.add("removed statement", n.Pos(), n.End(), "")
			if n.Tok != token.ASSIGN {
				f.add("plain assignment", n.TokPos, end, "=")
			}
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		if !strings.HasPrefix(f.source(n), "panic(") {
			f.add("removed statement", n.Pos(), n.End(), "")
		}
	}
	return true
}

var (
	otherFunction = map[string]string{"min": "max", "max": "min"}
	otherOperator = map[token.Token][2]string{
		token.LSS: {"edge", "<="}, token.LEQ: {"edge", "<"}, token.GTR: {"edge", ">="}, token.GEQ: {"edge", ">"},
		token.EQL: {"negated condition", "!="}, token.NEQ: {"negated condition", "=="}, token.NOT: {"negated condition", ""},
		token.LAND: {"and for or", "||"}, token.LOR: {"and for or", "&&"}, token.CONTINUE: {"break for continue", "break"},
	}
	simple  = regexp.MustCompile(`^[\w.]+$`)
	guarded = regexp.MustCompile(`^\{\s*(return|break|continue)\b`)
)

func (f *finder) other(operator token.Token, at token.Pos) {
	if other, ok := otherOperator[operator]; ok {
		f.add(other[0], at, at+token.Pos(len(operator.String())), other[1])
	}
}

// condition negates one that no operator of its own does.
func (f *finder) condition(c ast.Expr) {
	_, negated := c.(*ast.UnaryExpr)
	compared, ok := c.(*ast.BinaryExpr)
	if !negated && (!ok || compared.Op != token.EQL && compared.Op != token.NEQ) {
		f.add("negated condition", c.Pos(), c.End(), "!("+f.source(c)+")")
	}
}

// call swaps neighbors that look alike. The compiler says whether their types are.
func (f *finder) call(n *ast.CallExpr) {
	if other, ok := otherFunction[f.source(n.Fun)]; ok {
		f.add("min for max", n.Fun.Pos(), n.Fun.End(), other)
		return
	}
	for i := 1; i < len(n.Args); i++ {
		a, b := f.source(n.Args[i-1]), f.source(n.Args[i])
		if a != b && simple.MatchString(a) && simple.MatchString(b) {
			f.add("swapped arguments", n.Args[i-1].Pos(), n.Args[i].End(), b+", "+a)
		}
	}
}

// String shows the lines of the place before and after the mistake.
func (p place) String() string {
	from := strings.LastIndexByte(p.text[:p.start], '\n') + 1
	till := p.end + strings.IndexByte(p.text[p.end:], '\n')
	return fmt.Sprintf("%d %s:%d %s: %s → %s", p.number, p.name, p.line, p.operator,
		oneLine(p.text[from:till]), oneLine(p.planted(from, till)))
}

// planted returns a part of the file with the mistake in it.
func (p place) planted(from, till int) string {
	return p.text[from:p.start] + p.to + p.text[p.end:till]
}

func oneLine(text string) string { return "`" + strings.Join(strings.Fields(text), " ") + "`" }

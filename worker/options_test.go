package worker

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitsAreAllOptionsWithoutItems: a field that is forgotten has no effect.
func TestLimitsAreAllOptionsWithoutItems(t *testing.T) {
	var o Options[int]
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i) + 1)
		}
	}
	limits := reflect.ValueOf(limitsOf(&o))
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() != reflect.Func && f.Kind() != reflect.Slice {
			name := v.Type().Field(i).Name
			require.Equal(t, f.Interface(), limits.FieldByName(name).Interface(), name)
		}
	}
}

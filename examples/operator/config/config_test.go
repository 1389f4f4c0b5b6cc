// Package config_test checks the manifests against the code.
package config_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/kubernetes"
)

// decoded returns the objects of the manifests, by their files. It fails for
// fields that their types do not have.
func decoded(t *testing.T) map[string][]runtime.Object {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	require.NoError(t, examplev1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := map[string][]runtime.Object{}
	require.NoError(t, filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for part := range bytes.SplitSeq(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n")) {
			object, _, err := decoder.Decode(part, nil, nil)
			require.NoError(t, err, "%s", file)
			file := filepath.ToSlash(file)
			objects[file] = append(objects[file], object)
		}
		return nil
	}))
	return objects
}

// only returns the only object of a file.
func only[O runtime.Object](t *testing.T, file string) O {
	objects := decoded(t)[file]
	require.Len(t, objects, 1, "%s", file)
	return objects[0].(O)
}

// TestDefinitionMatchesType: the CRD defines what the Go type is registered as.
func TestDefinitionMatchesType(t *testing.T) {
	definition := only[*apiextensionsv1.CustomResourceDefinition](t, "crd/bases/example.com_invoices.yaml").Spec
	scheme := runtime.NewScheme()
	require.NoError(t, examplev1.AddToScheme(scheme))
	kinds, _, err := scheme.ObjectKinds(&examplev1.Invoice{})
	require.NoError(t, err)
	require.Len(t, kinds, 1)
	plural, singular := meta.UnsafeGuessKindToResource(kinds[0])
	require.Equal(t, kinds[0].Group, definition.Group)
	require.Equal(t, kinds[0].Kind, definition.Names.Kind)
	require.Equal(t, plural.Resource, definition.Names.Plural)
	require.Equal(t, singular.Resource, definition.Names.Singular)
	require.Equal(t, apiextensionsv1.NamespaceScoped, definition.Scope)
	require.Len(t, definition.Versions, 1)
	version := definition.Versions[0]
	require.Equal(t, kinds[0].Version, version.Name)
	require.NotNil(t, version.Subresources.Status)

	phase := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["phase"]
	var allowed []string
	for _, value := range phase.Enum {
		allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
	}
	require.ElementsMatch(t, []string{string(examplev1.Open), string(examplev1.Overdue), string(examplev1.Paid)}, allowed)
}

func TestSampleDecodes(t *testing.T) {
	sample := only[*examplev1.Invoice](t, "samples/v1_invoice.yaml")
	require.Equal(t, examplev1.InvoiceSpec{Amount: 4990, Currency: "EUR"}, sample.Spec)
}

// TestReadersMaySeeThePage: the role names the path at which the page is.
func TestReadersMaySeeThePage(t *testing.T) {
	role := only[*rbacv1.ClusterRole](t, "rbac/metrics_reader_role.yaml")
	require.Len(t, role.Rules, 1)
	require.ElementsMatch(t, []string{"/metrics", kubernetes.Path}, role.Rules[0].NonResourceURLs)
	require.Equal(t, []string{"get"}, role.Rules[0].Verbs)
}

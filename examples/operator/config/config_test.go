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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/kubernetes"
)

// decoded returns the objects of the manifests, by their files. It fails for
// fields that their types do not have.
func decoded(t *testing.T) map[string]runtime.Object {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	require.NoError(t, examplev1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := map[string]runtime.Object{}
	require.NoError(t, filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for part := range bytes.SplitSeq(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n")) {
			objects[filepath.ToSlash(file)], _, err = decoder.Decode(part, nil, nil)
			require.NoError(t, err, file)
		}
		return nil
	}))
	return objects
}

// TestManifests: the CRD defines the Go type and its phases, and the role of
// readers names the path of the page.
func TestManifests(t *testing.T) {
	all := decoded(t)
	definition := all["crd/bases/example.com_invoices.yaml"].(*apiextensionsv1.CustomResourceDefinition).Spec
	require.Equal(t, examplev1.GroupVersion.Group, definition.Group)
	require.Equal(t, "Invoice", definition.Names.Kind)
	version := definition.Versions[0]
	require.Equal(t, examplev1.GroupVersion.Version, version.Name)
	require.NotNil(t, version.Subresources.Status)
	var allowed []string
	for _, value := range version.Schema.OpenAPIV3Schema.Properties["status"].Properties["phase"].Enum {
		allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
	}
	require.ElementsMatch(t, []string{string(examplev1.Open), string(examplev1.Overdue), string(examplev1.Paid)}, allowed)

	sample := all["samples/v1_invoice.yaml"].(*examplev1.Invoice)
	require.Equal(t, examplev1.InvoiceSpec{Amount: 4990, Currency: "EUR"}, sample.Spec)
	role := all["rbac/metrics_reader_role.yaml"].(*rbacv1.ClusterRole)
	require.ElementsMatch(t, []string{"/metrics", kubernetes.Path}, role.Rules[0].NonResourceURLs)
}

// Others' CRDs that the chart has objects of: downloaded with their checksums, never built. `go mod tidy` would remove them.
module standin.dev/test/crds

go 1.24

require (
	github.com/cert-manager/cert-manager v1.19.1
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.4.1
)

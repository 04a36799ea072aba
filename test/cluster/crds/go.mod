// Others' CRDs that the chart, or docs/guides/gitops, has objects of: downloaded with their checksums, never built. `go mod tidy` would remove them.
module standin.dev/test/crds

go 1.25.0

require (
	github.com/argoproj/argo-cd/v3 v3.2.0
	github.com/cert-manager/cert-manager v1.19.1
	github.com/fluxcd/helm-controller v1.4.3
	github.com/fluxcd/kustomize-controller v1.7.3
	github.com/fluxcd/source-controller v1.7.3
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.4.1
)

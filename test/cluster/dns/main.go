// CoreDNS with the few plugins that the cluster's DNS needs: a tenth of what the whole program takes to build.
//
//	dns -conf COREFILE
//
// Runs until SIGTERM, SIGINT, or the end of stdin, as the cluster's own programs do.
package main

import (
	"io"
	"os"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	// What is not built in must not be looked for.
	dnsserver.Directives = []string{"bind", "errors", "kubernetes", "forward"}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	coremain.Run()
}

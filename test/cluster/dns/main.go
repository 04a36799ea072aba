// CoreDNS with the few plugins that the cluster's DNS needs. The build takes a tenth of the time of the whole program.
//
//	dns -conf COREFILE
//
// Runs until SIGTERM, SIGINT, or the end of stdin, like the cluster program.
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
	// The plugins above, in the order in which they handle a query. The default list names plugins that are not built in.
	dnsserver.Directives = []string{"bind", "errors", "kubernetes", "forward"}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	coremain.Run()
}

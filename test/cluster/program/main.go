// A real Kubernetes for tests, from Go modules alone. The control plane needs neither a container image nor root:
//
//	cluster api ETCD_DIR [kube-apiserver flags…]         etcd and kube-apiserver in one process
//	cluster controller-manager [kube-controller-manager flags…]
//
// A node needs root and a container runtime beside it:
//
//	cluster kubelet [kubelet flags…]
//	cluster scheduler [kube-scheduler flags…]
//	cluster proxy [kube-proxy flags…]
//
// All run until SIGTERM, SIGINT, or the end of stdin. The process that starts this program holds the other end of a pipe, so a
// killed test run leaves no server behind. Stopping and starting `api` again with the same ETCD_DIR is a restart of the API server
// that keeps all objects.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const (
	etcdReadyTimeout = 60 * time.Second
	lowestPort       = 10_000
	portCount        = 20_000
	portTries        = 100
	// kube-apiserver would wait 10 s for clients that keep their watches open. Tests check how these clients react, and need not
	// wait for the server.
	shutdownTimeout = 2 * time.Second
)

var errUsage = errors.New(
	"usage: cluster api ETCD_DIR [flags…] | cluster controller-manager|kubelet|scheduler|proxy [flags…]")

func main() {
	ctx := untilStopped()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	name, flags := args[0], args[1:]
	switch name {
	case "api":
		if len(flags) == 0 {
			return errUsage
		}
		return runAPI(ctx, flags[0], flags[1:])
	case "controller-manager":
		return execute(ctx, controllermanager.NewControllerManagerCommand(), flags)
	case "kubelet":
		return execute(ctx, kubelet.NewKubeletCommand(ctx), flags)
	case "scheduler":
		return execute(ctx, scheduler.NewSchedulerCommand(), flags)
	case "proxy":
		return execute(ctx, proxy.NewProxyCommand(), flags)
	default:
		return errUsage
	}
}

func execute(ctx context.Context, command *cobra.Command, flags []string) error {
	command.SetArgs(flags)
	return command.ExecuteContext(ctx)
}

func runAPI(ctx context.Context, etcdDir string, flags []string) error {
	etcd, clientURL, err := startEtcd(etcdDir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	return execute(ctx, apiserver.NewAPIServerCommand(), append([]string{"--etcd-servers=" + clientURL}, flags...))
}

func startEtcd(dir string) (*embed.Etcd, string, error) {
	clientURL, err := freeLoopbackURL()
	if err != nil {
		return nil, "", err
	}
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls = []url.URL{*clientURL}
	config.AdvertiseClientUrls = config.ListenClientUrls
	peerURL := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenPeerUrls = []url.URL{peerURL}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// The data must survive the end of this process, but not a crash of the machine.
	config.UnsafeNoFsync = true
	config.LogLevel = "error"
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, clientURL.String(), nil
	case err := <-etcd.Err():
		return nil, "", err
	case <-time.After(etcdReadyTimeout):
		etcd.Close()
		return nil, "", fmt.Errorf("not ready after %s", etcdReadyTimeout)
	}
}

// freeLoopbackURL returns a URL with a free port below the kernel's ephemeral ports (see test/harness/ports.ts), so that no
// connection takes the port before etcd does.
func freeLoopbackURL() (*url.URL, error) {
	var err error
	for range portTries {
		var listener net.Listener
		listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(portCount)))
		if err == nil {
			defer listener.Close()
			return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
		}
	}
	return nil, err
}

func untilStopped() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	go func() {
		<-ctx.Done()
		time.Sleep(shutdownTimeout)
		os.Exit(0)
	}()
	return ctx
}

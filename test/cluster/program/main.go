// A real Kubernetes control plane for tests, from Go modules alone: no container image, no root.
//
//	cluster api ETCD_DIR [kube-apiserver flags…]         etcd and kube-apiserver in one process
//	cluster controller-manager [kube-controller-manager flags…]
//
// Both run until SIGTERM, SIGINT, or the end of stdin: whoever starts this program holds the other end of a pipe, so
// a test run that is killed leaves no server behind. Stopping and starting `api` again with the same ETCD_DIR is a
// restart of the API server that keeps all objects.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	etcdReadyTimeout = 60 * time.Second
	// kube-apiserver waits 10 s for clients that keep their watches open. Those clients are what tests look at, and
	// nobody waits for a test's servers.
	shutdownTimeout = 2 * time.Second
)

func main() {
	ctx := untilStopped()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "api":
		return runAPI(ctx, args[1], args[2:])
	case len(args) >= 1 && args[0] == "controller-manager":
		command := controllermanager.NewControllerManagerCommand()
		command.SetArgs(args[1:])
		return command.ExecuteContext(ctx)
	default:
		return errors.New("usage: cluster api ETCD_DIR [flags…] | cluster controller-manager [flags…]")
	}
}

func runAPI(ctx context.Context, etcdDir string, flags []string) error {
	etcd, clientURL, err := startEtcd(etcdDir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	command := apiserver.NewAPIServerCommand()
	command.SetArgs(append([]string{"--etcd-servers=" + clientURL}, flags...))
	return command.ExecuteContext(ctx)
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
	// The data need only survive the end of this process, not of the machine.
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

func freeLoopbackURL() (*url.URL, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
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

module standin.dev/test/servemux

go 1.24

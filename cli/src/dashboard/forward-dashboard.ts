import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { connectToPod } from '@standin/kube/pod-connection';
import { openBrowser } from '../open/open-browser.ts';
import { findDashboard } from '../server/find-dashboard.ts';
import { openKubeClient, SYSTEM_NAMESPACE } from '../server/open-cluster.ts';
import type { ServerOptions } from '../server/server-options.ts';
import { awaitStop } from '../shutdown.ts';
import { stderr, stdout } from '../terminal.ts';

interface ForwardOptions extends ServerOptions {
  /** 0 selects a free port. */
  readonly port: number;
  readonly browser: boolean;
}

/**
 * Serves the dashboard of a cluster on a port of localhost until a signal arrives. Users sign in there, so the port grants nothing.
 * Each connection finds a ready pod, so the dashboard may be restarted meanwhile.
 */
export const forwardDashboard = async ({ port, browser, ...options }: ForwardOptions): Promise<void> => {
  const namespace = options.systemNamespace ?? SYSTEM_NAMESPACE;
  const client = openKubeClient(options);
  const stop = awaitStop();
  const sockets = new Set<Socket>();
  const forward = async (socket: Socket): Promise<void> => {
    sockets.add(socket);
    try {
      const connection = await connectToPod(client.config, await findDashboard(client, namespace));
      await Promise.all([pipeline(socket, connection), pipeline(connection, socket)]);
    } catch (error) {
      // A browser closes connections at any time.
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ERR_STREAM_PREMATURE_CLOSE' && code !== 'ECONNRESET' && !stop.signal.aborted)
        stderr.line(`standin: ${message}`);
    } finally {
      socket.destroy();
      sockets.delete(socket);
    }
  };
  try {
    // Reports a missing dashboard or permission before anything is opened.
    await findDashboard(client, namespace);
    const server = createServer((socket) => void forward(socket)).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://localhost:${(server.address() as AddressInfo).port}/`;
    stdout.line(url);
    stderr.line('Forwarding to the dashboard. Press Ctrl-C to stop.');
    if (browser) await openBrowser(url);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    server.close();
    for (const socket of sockets) socket.destroy();
  } finally {
    stop.done();
    await client.close();
  }
};

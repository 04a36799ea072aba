import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { PlainError } from '../plain-error.ts';

/**
 * The addresses on which a port must be free. The gateway listens only on the first one, but a process that listens on the second
 * one would get some of the requests to `localhost`.
 */
const LOOPBACKS = ['127.0.0.1', '::1'] as const;

/** Resolves with the port if it is free, or with a free port for 0. Rejects with a `PlainError` that says what to do. */
export const choosePort = async (wanted: number, flag = '--gateway-port'): Promise<number> => {
  let port = wanted;
  for (const host of LOOPBACKS) port = (await tryPort(host, port, flag)) ?? port;
  return port;
};

/** Listens on a port for a moment. Resolves with its number, or with undefined if the machine does not have the address. */
const tryPort = async (host: string, port: number, flag: string): Promise<number | undefined> => {
  const server = createServer().listen({ host, port, ipv6Only: true });
  try {
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new PlainError(
        `port ${port} is in use: stop the process that uses it, or choose another port with ${flag} PORT (npm start -- ${flag} PORT)`,
      );
    if (code === 'EACCES')
      throw new PlainError(`port ${port} requires more privileges: choose one above 1023 with ${flag}`);
    if (host === LOOPBACKS[0]) throw error;
    return undefined;
  } finally {
    server.close();
  }
};

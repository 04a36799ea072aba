import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { PlainError } from '../plain-error.ts';

/** The gateway listens on the first one. A process that listens on the second one would get half of what is sent to `localhost`. */
const LOOPBACKS = ['127.0.0.1', '::1'] as const;

/** The port itself if it is free; for 0, a free port. Rejects with a `PlainError` that contains the remedy. */
export const choosePort = async (wanted: number, flag = '--gateway-port'): Promise<number> => {
  let port = wanted;
  for (const host of LOOPBACKS) port = (await tryPort(host, port, flag)) ?? port;
  return port;
};

/** The port that it listened on. Undefined if the machine does not have the address. */
const tryPort = async (host: string, port: number, flag: string): Promise<number | undefined> => {
  const server = createServer().listen({ host, port, ipv6Only: true });
  try {
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new PlainError(`port ${port} is in use: stop what uses it, or choose another with ${flag}`);
    if (code === 'EACCES')
      throw new PlainError(`port ${port} requires more privileges: choose one above 1023 with ${flag}`);
    if (host === LOOPBACKS[0]) throw error;
    return undefined;
  } finally {
    server.close();
  }
};

import { readFile } from 'node:fs/promises';
import process from 'node:process';

/** https://docs.kernel.org/networking/proc_net_tcp.html */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LISTENING = '0A';
const ROOT_UID = 0;

/** Whether another non-root user of this machine listens on a port. False if unknown: only Linux exposes this. */
export const hasForeignListener = async (port: number): Promise<boolean> => {
  const own = process.getuid?.();
  const tables = await Promise.all(TABLES.map((file) => readFile(file, 'utf8').catch(() => '')));
  return tables.flatMap((table) => listenersOn(table, port)).some((uid) => uid !== own && uid !== ROOT_UID);
};

/** Ids of the users that listen on the port. */
const listenersOn = (table: string, port: number): number[] => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
    return state === LISTENING && local.endsWith(suffix) ? [Number(uid)] : [];
  });
};

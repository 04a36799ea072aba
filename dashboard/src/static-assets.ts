import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ownMember } from '@standin/contract';
import type { RequestHandler } from 'express';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** A file that browsers may request. Only files in the table of assets are served, so no path can leave the folder. */
interface Asset {
  readonly content: Buffer;
  readonly type: string;
  readonly cacheControl: string;
  readonly isBrotli: boolean;
}

const BROTLI = '.br';
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Serves the client build from memory, which takes about 2 MB. A slow client needs no copy of a file and keeps no
 * file open. File names below /assets/ contain a hash of the content, so browsers may cache these files forever.
 * Browsers that accept Brotli get the `.br` files, which the build has next to the originals.
 */
export const staticAssets = async (folder: string): Promise<RequestHandler> => {
  const assets = await listAssets(folder);
  return (request, response, next) => {
    const takesBrotli = request.acceptsEncodings('br') !== false;
    const asset = (takesBrotli ? assets.get(`${request.path}${BROTLI}`) : undefined) ?? assets.get(request.path);
    if (
      asset === undefined ||
      request.path.endsWith(BROTLI) ||
      (request.method !== 'GET' && request.method !== 'HEAD')
    ) {
      next();
      return;
    }
    response.status(200).set({
      'content-type': asset.type,
      'content-length': String(asset.content.length),
      'cache-control': asset.cacheControl,
      vary: 'accept-encoding',
      ...(asset.isBrotli && { 'content-encoding': 'br' }),
    });
    response.end(request.method === 'HEAD' ? undefined : asset.content);
  };
};

const listAssets = async (folder: string): Promise<ReadonlyMap<string, Asset>> => {
  const assets = new Map<string, Asset>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const url = `/${path.relative(folder, file).split(path.sep).join('/')}`;
    const isBrotli = url.endsWith(BROTLI);
    const type = ownMember(TYPES, path.extname(isBrotli ? url.slice(0, -BROTLI.length) : url));
    if (type === undefined) continue;
    const cacheControl = url.startsWith('/assets/') ? IMMUTABLE : 'public, max-age=3600';
    assets.set(url, { content: await readFile(file), type, cacheControl, isBrotli });
  }
  return assets;
};

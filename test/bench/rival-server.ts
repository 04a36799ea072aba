import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Fastify from 'fastify';

/**
 * This module is a server that Standin is compared with: `node rival-server.ts bare|fastify PORT BODY-FILE` responds to every
 * request with the content of the file.
 */

const [kind, port, file = ''] = process.argv.slice(2);
const body = readFileSync(file);
const headers = { 'content-type': 'application/json', 'content-length': body.length };

if (kind === 'bare') {
  createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(200, headers);
      response.end(body);
    });
  }).listen(Number(port), '127.0.0.1');
} else {
  const app = Fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, received, done) => done(null, received));
  app.all('/*', (_request, reply) => reply.headers(headers).send(body));
  await app.listen({ port: Number(port), host: '127.0.0.1' });
}

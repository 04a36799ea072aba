import type { LoaderFunctionArgs } from '@remix-run/node';
import { boundaryOf, latin1Text, parseMultipart, wireBytes } from '@standin/logstore/formats';
import { IMAGE_TYPES, mediaType } from '../exchange/body-views.ts';
import { capturedFile } from '../exchange/captured-file.server.ts';
import { BODY_PARTS, headerValue } from '../exchange/exchange-view.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';

/** One part of a multipart body, counted from 0. */
const itemOf = (bytes: Uint8Array<ArrayBuffer>, contentType: string, index: string): Uint8Array<ArrayBuffer> => {
  const boundary = boundaryOf(contentType);
  const items = boundary === undefined ? [] : parseMultipart(latin1Text(bytes), boundary);
  const item = /^\d{1,4}$/.test(index) ? items[Number(index)] : undefined;
  if (item === undefined) throw notFound('such part of this body', 'Parts are counted from 0.');
  return bytes.subarray(item.start, item.end);
};

/** A captured body, byte for byte; `?item=N`: a part of a multipart one. `?as=image` says what kind of image it is, to a page that shows it. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  const part = BODY_PARTS.find((name) => name === searchParams.get('part'));
  if (part === undefined) throw notFound('such body', 'Ask for ?part=request or ?part=response.');
  const message = (await readExchange(backend, names, (log, id) => log.get(id)))[part];
  const bytes = wireBytes(message);
  const contentType = headerValue(message.headers, 'content-type') ?? '';
  const item = searchParams.get('item');
  if (item !== null) return capturedFile(itemOf(bytes, contentType, item), `${names.id}-${part}-${item}.bin`);
  if (searchParams.get('as') !== 'image') return capturedFile(bytes, `${names.id}-${part}.bin`);
  const type = mediaType(contentType);
  if (!IMAGE_TYPES.has(type)) throw notFound('image in this body', 'Its type is not one that is shown.');
  return capturedFile(bytes, `${names.id}-${part}.${type.replace(/.*[/.]/, '')}`, type);
};

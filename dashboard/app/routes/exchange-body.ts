import type { LoaderFunctionArgs } from '@remix-run/node';
import { IMAGE_TYPES, mediaType } from '../exchange/body-views.ts';
import { capturedFile } from '../exchange/captured-file.server.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { BODY_PARTS, headerValue } from '../exchange/exchange-view.ts';
import { notFound } from '../../src/pages/failures.ts';
import { exchangeParams } from './params.server.ts';

/**
 * Returns the captured body that `?part=request` or `?part=response` selects, byte for byte. `?item=N` selects a part of a
 * multipart body. `?as=image` sets the content type of the image, so that pages can show it.
 */
export const loader = async ({ request, params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  const part = BODY_PARTS.find((name) => name === searchParams.get('part'));
  if (part === undefined) throw notFound('body', 'Use ?part=request or ?part=response.');
  const row = await readRow(backend, names);
  const body = part === 'request' ? row.requestBody : row.responseBody;
  const headers = part === 'request' ? row.requestHeaders : row.responseHeaders;
  const contentType = headerValue(headers, 'content-type') ?? '';
  const item = searchParams.get('item');
  if (item !== null) {
    const found = /^\d{1,4}$/.test(item)
      ? await workers.run('multipartItem', { body, contentType, index: Number(item) }, [body])
      : undefined;
    if (found === undefined) throw notFound('body part', 'Parts are numbered from 0.');
    return capturedFile(found, `${names.id}-${part}-${item}.bin`);
  }
  if (searchParams.get('as') !== 'image') return capturedFile(body, `${names.id}-${part}.bin`);
  const type = mediaType(contentType);
  if (!IMAGE_TYPES.has(type)) throw notFound('image', 'This body’s content type is not a supported image type.');
  return capturedFile(body, `${names.id}-${part}.${type.replace(/.*[/.]/, '')}`, type);
};

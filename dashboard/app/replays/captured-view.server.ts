import { isUtf8 } from 'node:buffer';
import { LIMITS, type HeaderPair, type LogRow } from '@standin/contract';
import type { ReplaySpec } from '@standin/crds';
import { decodeBody } from '@standin/exchange';
import { headerText, toReplayValues, type CapturedView, type ReplayValues } from './replay-values.ts';

/** Returns the parts of a captured request that can be edited. */
export const toCapturedView = (row: LogRow): CapturedView => {
  const { id, method, target, requestHeaders: headers, requestBody } = row;
  const view = {
    id,
    method,
    target,
    headers,
    bodyBytes: requestBody.length,
  };
  if (requestBody.length > LIMITS.replayEditBytesMax)
    return { ...view, bodyEncoding: isUtf8(requestBody) ? 'utf8' : 'base64', body: undefined };
  // A text area cannot contain NUL.
  const { body, bodyEncoding } = requestBody.includes(0)
    ? { body: Buffer.from(requestBody).toString('base64'), bodyEncoding: 'base64' as const }
    : decodeBody(requestBody);
  const isEditable = Buffer.byteLength(body) <= LIMITS.replayEditBytesMax;
  return { ...view, bodyEncoding, body: isEditable ? body : undefined };
};

/** Returns the form values for repeating an earlier replay of the same request, with its edits and its target. */
export const valuesLike = (captured: CapturedView, spec: Partial<ReplaySpec>): ReplayValues => {
  const { edit, target } = spec;
  const headers = edit?.headers?.map(({ name, value }): HeaderPair => [name, value]);
  return {
    ...toReplayValues(captured),
    ...(edit?.method !== undefined && { 'spec.edit.method': edit.method }),
    ...(edit?.target !== undefined && { 'spec.edit.target': edit.target }),
    ...(headers !== undefined && { 'spec.edit.headers': headerText(headers) }),
    ...(edit?.body !== undefined && { 'spec.edit.body': edit.body, 'spec.edit.bodyEncoding': edit.bodyEncoding }),
    ...(target !== undefined && { 'spec.target.kind': target.kind, 'spec.target.url': target.url ?? '' }),
  };
};

import { LIMITS, type HeaderPair } from '@standin/contract';
import type { ReplaySpec } from '@standin/crds';
import type { LogEntry } from '@standin/logstore';
import { headerText, replayValuesOf, type CapturedView, type ReplayValues } from './replay-values.ts';

/** What a form edits of a captured request. */
export const toCapturedView = ({ id, method, request }: LogEntry): CapturedView => {
  const { target, headers, body, bodyEncoding } = request;
  const bodyBytes = Buffer.byteLength(body, bodyEncoding);
  const isEditable = Buffer.byteLength(body) <= LIMITS.replayEditBytesMax;
  return { id, method, target, headers, bodyBytes, bodyEncoding, body: isEditable ? body : undefined };
};

/** As an earlier replay of the same request sent it. */
export const valuesLike = (captured: CapturedView, spec: Partial<ReplaySpec>): ReplayValues => {
  const { edit, target } = spec;
  const headers = edit?.headers?.map(({ name, value }): HeaderPair => [name, value]);
  return {
    ...replayValuesOf(captured),
    ...(edit?.method !== undefined && { 'spec.edit.method': edit.method }),
    ...(edit?.target !== undefined && { 'spec.edit.target': edit.target }),
    ...(headers !== undefined && { 'spec.edit.headers': headerText(headers) }),
    ...(edit?.body !== undefined && { 'spec.edit.body': edit.body, 'spec.edit.bodyEncoding': edit.bodyEncoding }),
    ...(target !== undefined && { 'spec.target.kind': target.kind, 'spec.target.url': target.url ?? '' }),
  };
};

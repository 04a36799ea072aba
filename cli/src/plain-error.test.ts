import { ApiError } from '@standin/kube';
import { expect, test } from 'vitest';
import { asPlainError } from './plain-error.ts';

const apiError = (status: number, message: string): ApiError =>
  new ApiError(message, { status, reason: 'Unknown', request: 'GET /api/v1/pods' });

test('credentials that the API server does not accept are reported with what to do', () => {
  expect(asPlainError(apiError(401, 'Unauthorized'))?.message).toContain('sign in again');
});

test('other refusals of the API server are reported as they are', () => {
  expect(asPlainError(apiError(403, 'pods is forbidden'))?.message).toBe('pods is forbidden');
});

test('an unexpected error is not reported as an error that the user can fix', () => {
  expect(asPlainError(new TypeError('x is undefined'))).toBeUndefined();
});

test('a spool folder that cannot be locked is reported without a stack', () => {
  const error = Object.assign(new Error('cannot lock /spool/a/lock'), { name: 'FolderLockError' });
  expect(asPlainError(error)?.message).toBe('cannot lock /spool/a/lock');
});

import { expect, it } from 'vitest';
import { shownSubmission } from './use-last-action-data.ts';

const FAILED = { unsaved: 'No response.', isUnknown: true };
const REFUSED = { refusal: 'Limit reached.' };
const NOTHING = { answer: undefined, unsaved: undefined };

it.each([
  ['a failure', { state: 'idle', data: FAILED }, undefined, { answer: undefined, unsaved: FAILED }],
  ['an answer', { state: 'idle', data: REFUSED }, undefined, { answer: REFUSED, unsaved: undefined }],
  ['an answer while the page reloads', { state: 'loading', data: REFUSED }, FAILED, { answer: REFUSED }],
  ['nothing of an earlier failure while a form is sent', { state: 'submitting', data: FAILED }, undefined, NOTHING],
  ['nothing of an earlier answer while a form is sent', { state: 'submitting', data: REFUSED }, undefined, NOTHING],
  ['nothing of a failure when the dialog opens', { state: 'idle', data: FAILED }, FAILED, NOTHING],
] as const)('a form shows %s', (_, fetched, forgotten, shown) => {
  expect(shownSubmission<unknown>(fetched, forgotten)).toMatchObject(shown);
});

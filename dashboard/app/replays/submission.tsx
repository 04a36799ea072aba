import { useState } from 'react';

/**
 * The form field that identifies a submission. A form that is submitted again, because the response was lost, has the same value
 * and creates no second Replay.
 */
export const SUBMISSION = 'submission';

const PARTS = 4;

/** Returns a random value for `SUBMISSION`. Not `randomUUID`, which browsers provide only over HTTPS. */
export const newSubmission = (): string => crypto.getRandomValues(new Uint32Array(PARTS)).join('-');

/** What users must know before they submit the form again. */
export const NOT_TWICE = 'If you try again now, without changes, nothing is sent twice.';

/** A hidden field with the value from when the form was opened. The page loads a new value each time. */
export const SubmissionField = ({ opened }: { readonly opened: string }) => {
  const [submission] = useState(opened);
  return <input type="hidden" name={SUBMISSION} value={submission} />;
};

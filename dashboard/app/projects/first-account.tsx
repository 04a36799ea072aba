import { Form, useNavigation } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { NotDone } from '../ui/error-summary.tsx';
import type { Unsaved } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';

/** The `intent` of the form that creates the first account. */
export const FIRST_ACCOUNT = 'first-account';

const MANIFEST = `apiVersion: standin.dev/v1alpha1
kind: Account
metadata:
  name: default
spec:
  plan: Free
`;

const CreateAccount = () => {
  const isCreating = useNavigation().state !== 'idle';
  return (
    <Form method="post">
      <Button type="submit" name="intent" value={FIRST_ACCOUNT} look="primary" disabled={isCreating}>
        {isCreating ? 'Creating…' : 'Create default account'}
      </Button>
    </Form>
  );
};

export interface FirstAccountProps {
  readonly mode: 'local' | 'cluster';
  /** The reason why the account could not be created. */
  readonly problem: string | undefined;
  /** The reason why the last submission failed. */
  readonly unsaved: Unsaved | undefined;
}

/**
 * Shown if there is no account. Explains that a project needs one. Local users can create an account here. On a cluster, the
 * platform team manages accounts.
 */
export const FirstAccount = ({ mode, problem, unsaved }: FirstAccountProps) => (
  <>
    <EmptyState
      title="No accounts yet"
      action={
        <>
          {mode === 'local' && <CreateAccount />}
          <CopyButton text={MANIFEST} label="Copy Account manifest" labelled />
        </>
      }
    >
      A project belongs to an account, which owns the API key and the quota.{' '}
      {mode === 'local'
        ? 'Create an account here, or add an Account manifest to the directory that standin dev watches. This page updates automatically.'
        : 'Apply an Account manifest with kubectl, or ask an administrator to do so. This page updates automatically.'}
    </EmptyState>
    <NotDone unsaved={unsaved} done="created" />
    {problem !== undefined && (
      <Notice look="bad" alert>
        {problem}
      </Notice>
    )}
  </>
);

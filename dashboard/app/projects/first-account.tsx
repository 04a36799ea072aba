import { Form, useNavigation } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Notice } from '../ui/notice.tsx';

/** The `intent` of the form. */
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
        {isCreating ? 'Creating …' : 'Create account default'}
      </Button>
    </Form>
  );
};

export interface FirstAccountProps {
  readonly mode: 'local' | 'cluster';
  /** Why it could not be created. */
  readonly problem: string | undefined;
}

/** A project needs an account. On a local machine, users create it themselves. On a cluster, accounts belong to the platform team. */
export const FirstAccount = ({ mode, problem }: FirstAccountProps) => (
  <>
    <EmptyState
      title="No accounts yet"
      action={
        <>
          {mode === 'local' && <CreateAccount />}
          <CopyButton text={MANIFEST} label="Copy an Account manifest" labelled />
        </>
      }
    >
      A project belongs to an account, which owns the API key and the quota.{' '}
      {mode === 'local'
        ? 'Create one here, or add one to the manifest directory. This page then continues.'
        : 'Apply one with kubectl. This page then continues.'}
    </EmptyState>
    {problem !== undefined && (
      <Notice look="bad" alert>
        {problem}
      </Notice>
    )}
  </>
);

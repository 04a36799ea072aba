import { useEffect, useRef } from 'react';
import { Button, type ButtonLook } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';

const COMMAND = 'kubectl create token NAME -n NAMESPACE --duration=8h';

export interface TokenFormProps {
  readonly error: string | undefined;
  readonly isSending: boolean;
  readonly look: ButtonLook;
}

/** Asks for a Kubernetes bearer token and explains how to get one. */
export const TokenForm = ({ error, isSending, look }: TokenFormProps) => {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (error !== undefined) input.current?.focus();
  }, [error]);
  return (
    <>
      <Field
        label="Kubernetes token"
        errors={error === undefined ? [] : [error]}
        hint="Stored in this browser in an encrypted cookie until it expires or you sign out."
      >
        <Input mono type="password" name="token" inputRef={input} className="h-9" />
      </Field>
      <Button type="submit" look={look} className="h-9" disabled={isSending}>
        {isSending ? 'Checking…' : 'Sign in with this token'}
      </Button>
      <div className="flex flex-col gap-1.5 text-small text-muted">
        <p>To create a token for a ServiceAccount:</p>
        <div className="flex items-center gap-1 rounded bg-panel py-0.5 pl-2">
          <code className="min-w-0 flex-1 overflow-x-auto py-1 whitespace-nowrap text-text" tabIndex={0}>
            {COMMAND}
          </code>
          <CopyButton text={COMMAND} label="Copy command" />
        </div>
        <p>
          An administrator must bind one of Standin’s ClusterRoles to the ServiceAccount, or to you, in your projects’
          namespaces. By default, the ClusterRoles are named standin-view, standin-edit and standin-admin.
        </p>
      </div>
    </>
  );
};

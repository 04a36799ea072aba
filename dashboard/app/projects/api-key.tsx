import type { KeyRegenerationView } from '../../src/accounts/key-regenerations.ts';
import { Eye, EyeOff } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import type { Readiness } from '../../src/resources/resource-view.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Notice } from '../ui/notice.tsx';
import { ReadinessBadge } from '../ui/readiness-badge.tsx';
import { Time } from '../ui/time.tsx';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';
import { RegenerateKey } from './regenerate-key.tsx';

export interface ApiKeyProps {
  readonly namespace: string;
  readonly account: string;
  readonly secretName: string | undefined;
  readonly fingerprint: string | undefined;
  readonly issuedAt: string | undefined;
  readonly isOwnSecret: boolean;
  /**
   * Information about regenerations of the key. Undefined if the Account names a Secret of the user, because Standin cannot
   * regenerate the key in that Secret.
   */
  readonly regenerations: KeyRegenerationView | undefined;
  readonly plan: string | undefined;
  readonly quota: number | undefined;
  readonly readiness: Readiness;
  readonly command: string | undefined;
}

/** The time after which a revealed key is hidden again, because other people may see the screen. */
const SHOWN_MS = 30_000;
const MASKED = 'standin_••••••••••••••••••••••••••••••••';

const Row = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <div className="grid gap-x-4 gap-y-1 px-4 py-2.5 sm:grid-cols-[10rem_minmax(0,1fr)]">
    <dt className="text-muted">{label}</dt>
    <dd className="min-w-0 break-words">{children}</dd>
  </div>
);

const KeyRow = () => {
  const { Form, isSending, answer, unsaved } = useKeptFetcher<{
    readonly apiKey?: string | undefined;
    readonly refusal?: string | undefined;
  }>();
  const [isShown, setIsShown] = useState(false);
  const apiKey = answer?.apiKey;
  const problem = unsaved?.unsaved ?? answer?.refusal;
  const isRevealed = isShown && apiKey !== undefined;
  useEffect(() => {
    if (!isRevealed) return;
    const timer = setTimeout(() => setIsShown(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isRevealed]);
  return (
    <Row label="API key">
      <Form method="post" className="flex flex-wrap items-center gap-2" onSubmit={() => setIsShown(true)}>
        <code className="min-w-0 flex-1 basis-64 rounded bg-panel px-2 py-1 break-all" aria-live="polite">
          {isRevealed ? apiKey : MASKED}
        </code>
        {isRevealed ? (
          <>
            <CopyButton text={apiKey} label="Copy" labelled />
            <Button onClick={() => setIsShown(false)}>
              <EyeOff aria-hidden /> Hide
            </Button>
          </>
        ) : (
          <Button type="submit" disabled={isSending}>
            <Eye aria-hidden /> Reveal
          </Button>
        )}
      </Form>
      {problem !== undefined && (
        <div className="mt-2">
          <Notice look="bad" alert>
            {problem}
          </Notice>
        </div>
      )}
      <p className="mt-1 text-small text-muted">
        Callers send this key in the <code>x-api-key</code> header. A revealed key is hidden again after 30 seconds.
      </p>
    </Row>
  );
};

/** Shows the key that callers authenticate with, masked until the user reveals it, and the account's plan and quota. */
export const ApiKey = (props: ApiKeyProps) => {
  const {
    namespace,
    account,
    secretName,
    fingerprint,
    issuedAt,
    isOwnSecret,
    plan,
    quota,
    readiness,
    command,
    regenerations,
  } = props;
  const { time } = usePreferences();
  return (
    <div className="flex flex-col gap-4">
      {readiness.state === 'broken' && <Notice look="bad">{readiness.message}</Notice>}
      <dl className="divide-y divide-line rounded-lg border border-line">
        <Row label="Account">
          <span className="flex items-center gap-2">
            <code>
              {namespace}/{account}
            </code>
            <ReadinessBadge readiness={readiness} />
          </span>
        </Row>
        {/* Keyed by the fingerprint, so that a revealed key is hidden once it has been replaced. */}
        {secretName !== undefined && <KeyRow key={fingerprint} />}
        <Row label="Fingerprint">
          <code>{fingerprint ?? '–'}</code>
          <p className="text-small text-muted">Shown in the log instead of the key.</p>
        </Row>
        <Row label="Active since">{issuedAt === undefined ? '–' : <Time at={issuedAt} zone={time} />}</Row>
        <Row label="Secret">
          <code>{secretName ?? '–'}</code>
          {isOwnSecret && (
            <p className="text-small text-muted">You manage this Secret. To change the key, edit the Secret.</p>
          )}
        </Row>
        <Row label="Plan">{plan ?? '–'}</Row>
        <Row label="Quota">
          {quota === undefined
            ? fingerprint === undefined
              ? '–'
              : 'Unlimited'
            : `${new Intl.NumberFormat('en').format(quota)} requests per month`}
        </Row>
        {command !== undefined && (
          <Row label="With kubectl">
            <span className="flex items-start gap-1">
              <code className="min-w-0 flex-1 break-all">{command}</code>
              <CopyButton text={command} label="Copy command" className="-my-1" />
            </span>
          </Row>
        )}
      </dl>
      {regenerations !== undefined && <RegenerateKey namespace={namespace} account={account} {...regenerations} />}
    </div>
  );
};

import { wireText } from '@standin/exchange/formats';
import { Link2Off } from 'lucide-react';
import { useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import type { ShareView } from '../../src/shares/list-shares.ts';
import { paths } from '../paths.ts';
import { Form, Link } from '../remix.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { Time } from '../ui/time.tsx';

const STATES = {
  works: { tone: '2xx', label: 'Active' },
  waiting: { tone: '1xx', label: 'Waiting' },
  expired: { tone: '1xx', label: 'Expired' },
  refused: { tone: '4xx', label: 'Rejected' },
} as const;

const CONSEQUENCES = {
  works: 'The link stops working immediately. This can’t be undone.',
  waiting: 'The link will never work. This can’t be undone.',
  expired: 'The link has expired. Removing it only removes it from this list.',
  refused: 'The link does not work now. Once revoked, it never will. This can’t be undone.',
} as const;

export interface ShareTableProps {
  readonly params: ProjectName;
  readonly shares: readonly ShareView[];
}

export const ShareTable = ({ params, shares }: ShareTableProps) => {
  const [revoking, setRevoking] = useState<ShareView>();
  const isExpired = revoking?.state === 'expired';
  return (
    <>
      <ul aria-label="Links" className="border-t border-line">
        {shares.map((share) => (
          <ShareRow key={share.name} params={params} share={share} onRevoke={() => setRevoking(share)} />
        ))}
      </ul>
      <Dialog
        open={revoking !== undefined}
        onOpenChange={() => setRevoking(undefined)}
        title={isExpired ? 'Remove this link?' : 'Revoke this link?'}
        description={CONSEQUENCES[revoking?.state ?? 'works']}
      >
        <Form method="post" onSubmit={() => setRevoking(undefined)}>
          <input type="hidden" name="share" value={revoking?.name ?? ''} />
          <DialogButtons>
            <Button onClick={() => setRevoking(undefined)}>Cancel</Button>
            <Button type="submit" look="danger" name="intent" value={isExpired ? 'remove' : 'revoke'}>
              {isExpired ? 'Remove link' : 'Revoke link'}
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  );
};

interface ShareRowProps {
  readonly params: ProjectName;
  readonly share: ShareView;
  readonly onRevoke: () => void;
}

const ShareRow = ({ params, share, onRevoke }: ShareRowProps) => {
  const { time } = usePreferences();
  const { name, requestId, title, createdAt, expiresAt, rules, state, message } = share;
  const { tone, label } = STATES[state];
  const verb = state === 'expired' ? 'Remove' : 'Revoke';
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line py-2">
      <div className="flex min-w-0 grow flex-col gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <Link
            to={paths.exchange({ ...params, id: requestId })}
            data-row
            className="min-w-0 font-mono text-small break-all text-accent hover:underline"
          >
            <bdi>{title === '' ? requestId : wireText(title).text}</bdi>
          </Link>
          <Badge tone={tone}>{label}</Badge>
        </p>
        <p className="flex flex-wrap gap-x-3 text-small text-muted">
          <span>
            {state === 'expired' ? 'expired' : 'expires'} <Time at={expiresAt} zone={time} />
          </span>
          <span>
            created <Time at={createdAt} zone={time} />
          </span>
          <span>{rules === 1 ? '1 redaction rule' : `${rules} redaction rules`}</span>
          <span className="font-mono">{name}</span>
        </p>
        {message !== '' && <p className="text-small">{message}</p>}
      </div>
      <Button look="danger" onClick={onRevoke} aria-label={`${verb} ${name}`}>
        <Link2Off aria-hidden /> {verb}
      </Button>
    </li>
  );
};

import { useEffect, useRef } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { DialogButtons } from '../ui/dialog.tsx';
import { Input } from '../ui/input.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import type { ShareAnswer } from './share-data.ts';

export interface CreatedLinkProps {
  readonly exchange: ProjectName;
  readonly link: Extract<ShareAnswer, { kind: 'created' }>;
  readonly isLocal: boolean;
  readonly onDone: () => void;
}

/** Shows a new link. Its token cannot be retrieved later. */
export const CreatedLink = ({ exchange, link: { path, expiresAt, isAccepted }, isLocal, onDone }: CreatedLinkProps) => {
  const { time } = usePreferences();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const url = `${location.origin}${path}`;
  return (
    <div className="flex flex-col gap-3">
      <div role="status" className="flex flex-col gap-1">
        <p className="font-medium">The link was created. Copy it now. You won’t be able to see it again.</p>
        <p className="text-muted">
          It works until <Time at={expiresAt} zone={time} />.{isLocal && ' It works only in browsers on this machine.'}
        </p>
      </div>
      <div className="flex gap-2">
        <Input mono readOnly value={url} aria-label="Link" inputRef={input} />
        <CopyButton text={url} label="Copy link" labelled />
      </div>
      {!isAccepted && (
        <Notice look="info">
          The link does not work until the operator has processed it. To see its state, go to Settings → Shares.
        </Notice>
      )}
      <DialogButtons>
        <Link to={paths.shares(exchange)} className={buttonClass('secondary')}>
          All links in this project
        </Link>
        <a href={path} target="_blank" rel="noreferrer" className={buttonClass('secondary')}>
          Open link{' '}
        </a>
        <Button look="primary" onClick={onDone}>
          Done
        </Button>
      </DialogButtons>
    </div>
  );
};

import { Share2 } from 'lucide-react';
import { useState } from 'react';
import type { RequestName } from '../../src/resources/names.ts';
import { useRouteLoaderData } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ShareDialog } from './share-dialog.tsx';

/** Returns whether the account plan of the open project includes sharing. Returns undefined if the plan is unknown. */
const useIsInPlan = (): boolean | undefined =>
  useRouteLoaderData<{ readonly isSharingInPlan?: boolean } | undefined>('routes/project')?.isSharingInPlan;

/**
 * A button that opens the share dialog. If the plan does not include sharing, the dialog explains what sharing is and what it
 * requires.
 */
export const ShareAction = ({ exchange }: { readonly exchange: RequestName }) => {
  const [open, setOpen] = useState(false);
  const isInPlan = useIsInPlan();
  useShortcuts([{ keys: 's', label: 'Share this request', run: () => setOpen(true) }]);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Share2 aria-hidden />
        Share
        {isInPlan === false && (
          <Badge tone="1xx" icon={false}>
            Pro
          </Badge>
        )}
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="Share this request"
        description="Anyone with the link can view this request and its response without signing in, until the link expires or is revoked."
        wide
      >
        <ShareDialog exchange={exchange} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
};

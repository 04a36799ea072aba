import { LIMITS } from '@standin/contract';
import { Download, FileJson2, Plus, RotateCw } from 'lucide-react';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link, useNavigate } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { ResendAction } from '../replays/resend-action.tsx';
import { ShareAction } from '../shares/share-action.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { Menu, MenuDownload } from '../ui/menu.tsx';
import { CopyMenu } from '../exchange/copy-menu.tsx';
import type { ExchangeView } from '../exchange/exchange-view.ts';

export interface ExchangeActionsProps {
  readonly view: ExchangeView;
  readonly exchange: RequestName;
}

/** A toolbar with the actions for an exchange. */
export const ExchangeActions = ({ view, exchange }: ExchangeActionsProps) => {
  const navigate = useNavigate();
  useShortcuts([
    { keys: 'r', label: 'Replay this request', run: () => navigate(paths.replayExchange(exchange)) },
    {
      keys: 'e',
      label: 'Edit and replay this request',
      run: () => navigate(paths.replayExchange(exchange, { focus: 'body' })),
    },
    ...(view.canBeMock
      ? [
          {
            keys: 'm',
            label: 'Save this response as the endpoint’s mock',
            run: () => navigate(paths.exchangeMock(exchange)),
          },
        ]
      : []),
  ]);
  return (
    <div role="toolbar" aria-label="Actions" className="flex flex-wrap items-center gap-1">
      <CopyMenu exchange={exchange} />
      <ResendAction exchange={exchange} />
      <Link to={paths.replayExchange(exchange)} className={buttonClass()}>
        <RotateCw aria-hidden /> Replay
      </Link>
      {view.canBeMock && (
        <Link to={paths.exchangeMock(exchange)} className={buttonClass()}>
          <FileJson2 aria-hidden /> Save as mock
        </Link>
      )}
      {view.status === 404 && view.path.length <= LIMITS.slugLengthMax && (
        <Link to={paths.newEndpoint(exchange, { method: view.method, path: view.path })} className={buttonClass()}>
          <Plus aria-hidden /> Create endpoint for this path
        </Link>
      )}
      <ShareAction exchange={exchange} />
      <Menu
        trigger={
          <Button>
            <Download aria-hidden />
            Download
          </Button>
        }
      >
        <MenuDownload to={paths.exchangeFile(exchange, { as: 'http' })}>Raw request</MenuDownload>
        <MenuDownload to={paths.exchangeFile(exchange, { as: 'har' })}>Request and response as HAR</MenuDownload>
        {view.request.body.bytesCaptured > 0 && (
          <MenuDownload to={paths.exchangeBody(exchange, { part: 'request' })}>Request body</MenuDownload>
        )}
        {view.response.body.bytesCaptured > 0 && (
          <MenuDownload to={paths.exchangeBody(exchange, { part: 'response' })}>Response body</MenuDownload>
        )}
      </Menu>
    </div>
  );
};

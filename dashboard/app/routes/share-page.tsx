import { data, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { SharedExchangeView } from '../shares/shared-exchange-view.tsx';
import { formatInstant } from '../traffic/traffic-row.ts';

/** Nobody's page: without a session, without scripts, without the rest of the dashboard (`root.tsx`). */
export const handle = { isPublic: true };

export const meta: MetaFunction = () => [
  { title: 'Shared request · Standin' },
  { name: 'robots', content: 'noindex, nofollow' },
];

/** The link was looked up before (`serve-shares.ts`). */
export const loader = ({ context: { share } }: LoaderFunctionArgs) =>
  data({ share }, { status: share === undefined ? 404 : 200 });

const SharePage = () => {
  const { share } = useLoaderData<typeof loader>();
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-6 px-4 py-6">
      {share === undefined ? (
        <div className="flex flex-col gap-2">
          <h1 className="text-h1">This link shows nothing</h1>
          <p className="text-muted">
            It may be incomplete, expired or revoked, or the request is not kept any more. Ask whoever gave it to you
            for a new one.
          </p>
        </div>
      ) : (
        <>
          <SharedExchangeView exchange={share.exchange} level="h1" />
          <p className="border-t border-line pt-3 text-small text-muted">
            Shared from Standin. This link works until {formatInstant(new Date(share.expiresAt), 'utc').slice(0, 16)}{' '}
            UTC, or until it is revoked.
          </p>
        </>
      )}
    </div>
  );
};
export default SharePage;

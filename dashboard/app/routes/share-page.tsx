import { data, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { SharedExchangeView } from '../shares/shared-exchange-view.tsx';
import { formatInstant } from '../requests/traffic-row.ts';

/** Marks a public page, which has no session, no scripts and no navigation (`root.tsx`). */
export const handle = { isPublic: true };

export const meta: MetaFunction = () => [
  { title: 'Shared request · Standin' },
  { name: 'robots', content: 'noindex, nofollow' },
];

/** Returns the share that `serve-shares.ts` has already looked up. */
export const loader = ({ context: { share } }: LoaderFunctionArgs) =>
  data({ share }, { status: share === undefined ? 404 : 200 });

const SharePage = () => {
  const { share } = useLoaderData<typeof loader>();
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-4 px-4 py-4">
      {share === undefined ? (
        <div className="flex flex-col gap-2">
          <h1 className="text-h1">Link not available</h1>
          <p className="text-muted">
            The link is incomplete, inactive, expired or revoked, or the request is no longer stored. Ask the person who
            sent you the link for a new one.
          </p>
        </div>
      ) : (
        <>
          <p className="flex flex-wrap justify-between gap-x-4 border-b border-line pb-2 text-small text-muted">
            <span>Captured by Standin and shared by a link</span>
            <span>Available until {formatInstant(new Date(share.expiresAt), 'utc').slice(0, 16)} UTC</span>
          </p>
          <SharedExchangeView exchange={share.exchange} level="h1" />
        </>
      )}
    </div>
  );
};
export default SharePage;

import { SourceError } from '@standin/contract';
import type { CustomResource } from '@standin/kube';
import type { ShareSource } from '../shares/public-shares.ts';
import { ShareIndex } from '../shares/share-index.ts';
import { followObjects, type OwnView } from './follow-objects.ts';
import { getObject, readObject } from './read-objects.ts';

/**
 * The cluster's Shares, read with the dashboard's own ServiceAccount. It may read Projects and Shares, and nothing is shown except what a link leads
 * to. Each opened link reads its Share again, so that a revoked link shows nothing, however late the watch event arrives. An unreachable API server
 * is `Unavailable`.
 */
export const followClusterShares = (view: OwnView): ShareSource => {
  const index = new ShareIndex();
  const isSynced = followObjects<CustomResource>(view, {
    kinds: ['Project', 'Share'],
    put: (kind, object) => index.put(readObject(kind, object)),
    remove: (kind, { metadata: { name, namespace = '' } }) => index.remove({ kind, namespace, name }),
  });
  return {
    find: async (tokenSha256) => {
      if (!isSynced()) throw new SourceError('Unavailable', 'the Shares of the cluster are not loaded yet');
      const known = index.find(tokenSha256);
      if (known === undefined) return undefined;
      const { namespace, name, uid } = known.metadata;
      const share = await getObject({ id: 'dashboard', client: view.client }, { kind: 'Share', namespace, name });
      if (share?.metadata.uid !== uid || share.metadata.deletionTimestamp !== undefined) return undefined;
      const projectUid = index.projectUidOf(share);
      return projectUid === undefined ? undefined : { share, projectUid };
    },
  };
};

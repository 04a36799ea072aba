import { SourceError } from '@standin/contract';
import type { CustomResource } from '@standin/kube';
import type { ShareSource } from '../shares/public-shares.ts';
import { ShareIndex } from '../shares/share-index.ts';
import { followObjects, type OwnView } from './follow-objects.ts';
import { getObject, readObject } from './read-objects.ts';

/**
 * Follows the cluster's Shares and Projects with the dashboard's own ServiceAccount. `find` reads the Share again with each call,
 * so a revoked link shows nothing even if the watch event arrives late. `find` rejects with `Unavailable` if the Shares are not
 * loaded yet or the API server is unreachable.
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
      if (!isSynced())
        throw new SourceError(
          'Unavailable',
          'the dashboard has not loaded the shares in the cluster yet: try again in a few seconds',
        );
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

import { SourceError } from '@standin/contract';
import { toResourceObject, type CustomResource } from '@standin/kube';
import type { ShareSource } from '../shares/public-shares.ts';
import { ShareIndex } from '../shares/share-index.ts';
import { followObjects, type OwnView } from './follow-objects.ts';
import type { Identities } from './identities.ts';
import { getObject, withoutLargeParts } from './read-objects.ts';

/**
 * Follows the cluster's Shares, Projects and Accounts with the dashboard's own ServiceAccount. `find` reads the Share again with each call,
 * so a revoked link shows nothing even if the watch event arrives late. `find` rejects with `Unavailable` if the Shares are not
 * loaded yet, the API server is unreachable, or the operator does not confirm an identity.
 */
export const followClusterShares = (view: OwnView, identities: Identities): ShareSource => {
  const index = new ShareIndex();
  const isSynced = followObjects<CustomResource>(view, {
    kinds: ['Account', 'Project', 'Share'],
    // A link is found by its token. What it shows is read again.
    transform: withoutLargeParts,
    put: (kind, object) => index.put(toResourceObject(kind, object)),
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
      const share = await getObject(view, { kind: 'Share', namespace, name });
      if (share?.metadata.uid !== uid || share.metadata.deletionTimestamp !== undefined) return undefined;
      const project = index.findProject(share);
      return project && { share, projectUid: (await identities.of(project)).uid, surroundings: index };
    },
  };
};

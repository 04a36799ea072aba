import { SourceError } from '@standin/contract';
import { collectionPath, Reflector, toResourceObject, type CustomResource, type KubeClient } from '@standin/kube';
import type { Logger } from 'pino';
import type { ShareSource } from '../shares/public-shares.ts';
import { ShareIndex } from '../shares/share-index.ts';
import { getObject } from './read-objects.ts';

const FOLLOWED = ['Project', 'Share'] as const;

/**
 * The cluster's Shares, by the dashboard's own ServiceAccount: it may read Projects and Shares, and nothing is shown but what a link leads
 * to. Follows the cluster until `signal` aborts. Each link that is opened reads its Share anew, so that a revoked one shows nothing
 * however late the news of it come; an API server that is away is `Unavailable`.
 */
export const followClusterShares = (client: KubeClient, logger: Logger, signal: AbortSignal): ShareSource => {
  const index = new ShareIndex();
  const unsynced = new Set<string>(FOLLOWED);
  for (const kind of FOLLOWED) {
    const reflector = new Reflector<CustomResource>({
      client,
      path: collectionPath(kind),
      resource: kind,
      handler: {
        put: (object) => index.put(toResourceObject(kind, object)),
        remove: ({ metadata: { name, namespace = '' } }) => index.remove({ kind, namespace, name }),
      },
      logger,
    });
    reflector.synced.then(
      () => unsynced.delete(kind),
      () => undefined,
    );
    reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
  }
  return {
    find: async (tokenSha256) => {
      if (unsynced.size > 0) throw new SourceError('Unavailable', 'the Shares of the cluster were not read yet');
      const known = index.find(tokenSha256);
      if (known === undefined) return undefined;
      const { namespace, name, uid } = known.metadata;
      const share = await getObject({ id: 'dashboard', client }, { kind: 'Share', namespace, name });
      if (share?.metadata.uid !== uid || share.metadata.deletionTimestamp !== undefined) return undefined;
      const projectUid = index.projectUidOf(share);
      return projectUid === undefined ? undefined : { share, projectUid };
    },
  };
};

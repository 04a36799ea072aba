/** `npm run cluster -- --node` runs a cluster of one real node in the foreground, with Standin's images, until Ctrl-C. */
import { connectCluster } from '../../harness/cluster.ts';
import { buildGoProgram } from '../go-program.ts';
import { findKubectl } from '../kubectl.ts';
import { KUBECONFIG, LOG_FOLDER } from './layout.ts';
import { prepareNode } from './needs.ts';
import { saveImages } from './save-images.ts';
import { startNode } from './start-node.ts';

/** Builds and runs a node. Calls `untilStopped` after the build, and stops the node when the promise that it returns resolves. */
export const runNode = async (untilStopped: () => Promise<void>): Promise<void> => {
  await prepareNode(console.log);
  await buildGoProgram('cluster', console.log);
  await buildGoProgram('dns', console.log);
  const helm = await buildGoProgram('helm', console.log);
  const kubectl = await findKubectl(console.log);
  await using images = await saveImages(console.log);
  const stopped = untilStopped();
  const node = await startNode({ onProgress: console.log, images: images.files });
  try {
    const cluster = await connectCluster(node.kubeconfigPath, LOG_FOLDER);
    const { stdout } = await cluster.kubectl(['get', 'node', '-o', 'wide']);
    console.log(welcome(stdout, { kubectl, helm }));
    await stopped;
    console.log('stopping and deleting all pods, objects and volumes');
  } finally {
    await node.stop();
  }
};

const welcome = (nodes: string, { kubectl, helm }: { readonly kubectl: string; readonly helm: string }): string => `
${nodes}
  export KUBECONFIG=${KUBECONFIG}${kubectl === 'kubectl' ? '' : `\n  alias kubectl=${kubectl}`}
  alias helm=${helm}

  helm install standin charts/standin -n standin-system --create-namespace --set clickhouse.embedded.enabled=true --wait
  kubectl apply -f crds/examples/quickstart
  kubectl wait --for=condition=Ready mep --all
  KEY=$(kubectl get secret default-api-key -o jsonpath='{.data.api-key}' | base64 -d)
  curl -H "x-api-key: $KEY" http://$(kubectl get svc standin-gateway -n standin-system -o jsonpath='{.spec.clusterIP}')$(kubectl get mep list-orders -o jsonpath='{.status.url}' | sed 's|http://[^/]*||')

The addresses of pods and Services are reachable from this machine; their names resolve only in pods. Logs: ${LOG_FOLDER}
Ctrl-C stops it and deletes all pods, objects and volumes.`;

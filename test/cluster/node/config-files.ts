import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { PAUSE_IMAGE } from '../images.ts';
import {
  CLUSTER_DOMAIN,
  CONTAINERD_SOCKET,
  DNS_ADDRESS,
  inFolder,
  KUBECONFIG,
  LOG_FOLDER,
  NODE_ADDRESS,
  NODE_NAME,
  POD_RANGE,
  VOLUME_FOLDER,
} from './layout.ts';

export const CONTAINERD_CONFIG = inFolder('containerd.toml');
const KUBELET_CONFIG = inFolder('kubelet.yaml');
const PROXY_CONFIG = inFolder('kube-proxy.yaml');
const COREFILE = inFolder('Corefile');

/** The certificate and the private key with which the API server authenticates to the kubelet. */
export const CLIENT_CERTIFICATE = inFolder('kubelet-client.crt');
export const CLIENT_KEY = inFolder('kubelet-client.key');

export const PROXY_HEALTH_ADDRESS = `${NODE_ADDRESS}:10256`;

const CNI_FOLDER = inFolder('cni');

/** Writes the configuration of containerd, kubelet, kube-proxy and the DNS. `cniPlugins` is the folder of the CNI programs. */
export const writeConfigFiles = async (cniPlugins: string): Promise<void> => {
  for (const folder of [LOG_FOLDER, VOLUME_FOLDER, CNI_FOLDER]) await mkdir(folder, { recursive: true });
  await writeFile(CONTAINERD_CONFIG, containerdConfig(cniPlugins));
  await writeFile(`${CNI_FOLDER}/10-standin.conflist`, JSON.stringify(network));
  await writeFile(KUBELET_CONFIG, stringify(kubelet));
  await writeFile(PROXY_CONFIG, stringify(proxy));
  const resolvers = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
  await writeFile(COREFILE, corefile(/^nameserver /m.test(resolvers)));
};

const containerdConfig = (cniPlugins: string): string => `version = 2
root = "${inFolder('containerd')}"
state = "${inFolder('containerd-state')}"

[grpc]
  address = "${CONTAINERD_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
  path = "${inFolder('containerd-opt')}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Without this, no container starts if root cannot lower the score (no CAP_SYS_RESOURCE).
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${cniPlugins}"
  conf_dir = "${CNI_FOLDER}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  Root = "${inFolder('runc')}"
`;

/**
 * Each pod has its own link to the host instead of a bridge, so that traffic between pods is routed and passes kube-proxy's rules.
 */
const network = {
  cniVersion: '0.4.0',
  name: 'standin',
  plugins: [
    {
      type: 'ptp',
      ipMasq: true,
      ipam: {
        type: 'host-local',
        dataDir: inFolder('pod-addresses'),
        ranges: [[{ subnet: POD_RANGE }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    // Accepts the packets of pods. They would be lost on a machine with Docker, which sets the FORWARD chain's policy to DROP.
    { type: 'firewall' },
  ],
};

const kubelet = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: NODE_ADDRESS,
  healthzPort: 0,
  // Clients of the kubelet can run commands in every pod, so only the API server has the key.
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: CLIENT_CERTIFICATE },
  },
  authorization: { mode: 'AlwaysAllow' },
  containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  oomScoreAdj: 0,
  clusterDNS: [DNS_ADDRESS],
  clusterDomain: CLUSTER_DOMAIN,
  podLogsDir: inFolder('logs', 'pods'),
  volumePluginDir: inFolder('volume-plugins'),
  // Disables eviction and image garbage collection, because the disk of a development machine is often nearly full, and images
  // cannot be pulled again.
  evictionHard: {},
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
};

const proxy = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  clientConnection: { kubeconfig: KUBECONFIG },
  hostnameOverride: NODE_NAME,
  mode: 'iptables',
  clusterCIDR: POD_RANGE,
  healthzBindAddress: PROXY_HEALTH_ADDRESS,
  metricsBindAddress: `${NODE_ADDRESS}:10249`,
  nodePortAddresses: [`${NODE_ADDRESS}/32`],
  iptables: { localhostNodePorts: false },
  // Tests must not change the machine's own limits.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  oomScoreAdj: 0,
};

const corefile = (forwards: boolean): string => `.:53 {
  bind ${NODE_ADDRESS}
  errors
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {
    kubeconfig ${KUBECONFIG}
    fallthrough in-addr.arpa ip6.arpa
  }${forwards ? '\n  forward . /etc/resolv.conf' : ''}
}
`;

/** The DNS Service that pods query, and its endpoint, which is a process outside pods. */
export const DNS_OBJECTS = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system' },
    spec: {
      clusterIP: DNS_ADDRESS,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: { 'kubernetes.io/service-name': 'kube-dns' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [NODE_ADDRESS] }],
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ],
  },
];

/** The arguments with which the cluster program runs the kubelet. */
export const KUBELET_ARGS = [
  'kubelet',
  `--config=${KUBELET_CONFIG}`,
  `--kubeconfig=${KUBECONFIG}`,
  `--root-dir=${inFolder('kubelet')}`,
  `--cert-dir=${inFolder('kubelet-pki')}`,
  `--node-ip=${NODE_ADDRESS}`,
  `--hostname-override=${NODE_NAME}`,
];
export const SCHEDULER_ARGS = ['scheduler', `--kubeconfig=${KUBECONFIG}`, '--leader-elect=false', '--secure-port=0'];
export const PROXY_ARGS = ['proxy', `--config=${PROXY_CONFIG}`];
export const CONTAINERD_ARGS = ['--config', CONTAINERD_CONFIG, '--log-level', 'warn'];
export const DNS_ARGS = ['-conf', COREFILE];

/**
 * API server flags in addition to those of every cluster. Without the first flag, the API server resolves the node's name with DNS.
 */
export const API_SERVER_ARGS = [
  '--kubelet-preferred-address-types=InternalIP',
  `--kubelet-client-certificate=${CLIENT_CERTIFICATE}`,
  `--kubelet-client-key=${CLIENT_KEY}`,
];

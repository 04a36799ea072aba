import { describe, expect, it } from 'vitest';
import { ownProcesses } from './own-processes.ts';

const found = (pid: number, ...args: readonly string[]) => ({ pid, parent: 1, args });

describe("a node's own processes", () => {
  it('are programs with a matching name and a file of the folder in their arguments', () => {
    const processes = [
      found(1, '/cache/cluster-0123', 'kubelet', '--config=/node/kubelet.yaml'),
      found(2, '/usr/bin/containerd', '--config', '/node/containerd.toml'),
      found(3, '/usr/bin/containerd'),
      found(4, '/cache/cluster-0123', 'kubelet', '--config=/other/kubelet.yaml'),
      found(5, 'tail', '-f', '/node/logs/kubelet.log'),
      found(6, '/cache/cluster-0123', 'kubelet', '--config=/node-2/kubelet.yaml'),
    ];
    const pids = ownProcesses(processes, '/node', /^(cluster-|containerd$)/).map(({ pid }) => pid);
    expect(pids).toEqual([1, 2]);
  });
});

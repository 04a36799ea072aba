import { runCommand } from '../run-command.ts';

/** Chains of kubelet, kube-proxy and the CNI plugins. */
const IS_NODE_CHAIN = /^(KUBE|CNI)-/;

/**
 * Returns the input of `iptables-restore --noflush` that removes exactly the chains of a node and all rules that jump to them,
 * given the output of `iptables-save`. The input is empty if there are no such chains.
 */
export const removalRules = (saved: string): string =>
  saved
    .split(/^(?=\*)/m)
    .map(tableRemovalRules)
    .join('');

const tableRemovalRules = (table: string): string => {
  const lines = table.split('\n');
  const chains = lines.flatMap((line) => /^:(\S+)/.exec(line)?.[1] ?? []).filter((chain) => IS_NODE_CHAIN.test(chain));
  if (chains.length === 0) return '';
  const leading = lines.flatMap((line) => {
    const [, chain = '', rule = ''] = /^-A (\S+) (.*)$/.exec(line) ?? [];
    const target = / ?-[jg] (\S+)/.exec(rule.replace(/"(\\.|[^"\\])*"/g, '""'))?.[1] ?? '';
    return !IS_NODE_CHAIN.test(chain) && IS_NODE_CHAIN.test(target) ? [`-D ${chain} ${rule}`] : [];
  });
  const emptied = chains.map((chain) => `:${chain} - [0:0]`);
  const removed = chains.map((chain) => `-X ${chain}`);
  return `${[lines[0], ...emptied, ...leading, ...removed, 'COMMIT'].join('\n')}\n`;
};

const COMMANDS = ['iptables', 'ip6tables'] as const;

/** Returns whether this machine has chains of any node. */
export const hasNodeChains = async (): Promise<boolean> => {
  const saved = await Promise.all(COMMANDS.map((command) => runCommand(`${command}-save`, [])));
  return saved.some(({ stdout }) => /^:KUBE-SERVICES /m.test(stdout));
};

export const removeNodeChains = async (): Promise<void> => {
  for (const command of COMMANDS) {
    const { stdout } = await runCommand(`${command}-save`, []);
    const input = removalRules(stdout);
    if (input !== '') await restore(command, input);
  }
};

/**
 * Drops packets that still have the address of a Service after kube-proxy's rules, so that none leaves this machine before
 * kube-proxy has written the rules for that Service. The packets are dropped in POSTROUTING, because the CNI firewall accepts all
 * packets from pods in FORWARD. A dropped SYN is sent again after a second.
 */
export const dropUnserved = async (serviceRange: string): Promise<void> => {
  const chain = 'KUBE-STANDIN-UNSERVED';
  const rules = [`-A ${chain} -d ${serviceRange} -j DROP`, `-I POSTROUTING -j ${chain}`];
  await restore('iptables', `${['*mangle', `:${chain} - [0:0]`, ...rules, 'COMMIT'].join('\n')}\n`);
};

const restore = async (command: (typeof COMMANDS)[number], input: string): Promise<void> => {
  const { code, stderr } = await runCommand(`${command}-restore`, ['--noflush', '--wait', '10'], { input });
  if (code !== 0) throw new Error(`${command}-restore ended with ${code}: ${stderr}\n${input}`);
};

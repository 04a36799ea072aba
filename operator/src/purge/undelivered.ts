import type { VolumeController } from '../drain/volume-controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';

/**
 * Returns descriptions of the gateways and volumes that may hold requests of the project which were received before this time and
 * are not in the log. The time is in milliseconds of `systemClock.now()`. Volumes have the requests of all projects, and are drained
 * without interruption.
 */
export const undelivered = (
  gateways: Pick<GatewayController, 'has' | 'known' | 'undelivered'>,
  volumes: Pick<VolumeController, 'undelivered' | 'hasUnused'> | undefined,
  wanted: Parameters<GatewayController['undelivered']>[0],
): readonly string[] => {
  // The volume of an expired gateway without a pod shows whether it is drained.
  const late = gateways.undelivered(wanted, (gateway) => volumes?.hasUnused(gateway) ?? false);
  // If volumes are not watched, nothing shows that a gateway exists before it connects. So at least one gateway must have
  // connected.
  if (volumes === undefined) return gateways.known.length > 0 || late.length > 0 ? late : ['a gateway to connect'];
  const claims = volumes.undelivered((gateway) => gateways.has(gateway)) ?? ["the gateways' volumes to be read"];
  return [...late, ...claims];
};

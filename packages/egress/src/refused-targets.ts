import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { addressClass, reachableAddresses } from './address-class.ts';
import { bareHost, portNumber, type AddressRefusal } from './address-policy.ts';
import { lookupAll, type Lookup } from './lookup.ts';

/**
 * A host and a port: of a component that is never an upstream (ClickHouse, the config stream, metrics, the API server), or of a
 * URL.
 */
export interface Target {
  /** A name, or an IP address without brackets. `0.0.0.0` and `::` stand for this machine. */
  readonly host: string;
  readonly port: number;
}

interface KnownTarget extends Target {
  /** Canonical IP addresses: the literal ones, or the results of the last lookup of the name. */
  addresses: readonly string[];
  /** The last lookup of the name. `atMs` is a `performance.now()` time. `done` never rejects. */
  lookedUp: { readonly atMs: number; readonly done: Promise<void> } | undefined;
}

/** Names are looked up again after this time, because pods come and go. */
const REFRESH_MS = 10_000;
/** A name server that does not respond must not hold up requests. After this time, the last known addresses are used. */
const REFRESH_WAIT_MS = 1_000;

const TARGET = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):([1-9]\d{0,4})$/;

/** Returns whether `text` is a target, such as `clickhouse:8123`, `10.0.0.1:443` or `[::1]:9443`. */
export const isTarget = (text: string): boolean => {
  const [, bracketed, , port] = TARGET.exec(text) ?? [];
  return Number(port) <= 65_535 && (bracketed === undefined || ipaddr.IPv6.isValid(bracketed));
};

/** Parses a target. Throws if `text` is not a target (see `isTarget`). */
export const parseTarget = (text: string): Target => {
  const [, bracketed, name, port] = TARGET.exec(text) ?? [];
  const host = bracketed ?? name;
  if (host === undefined) throw new Error(`${text} is not a host and a port`);
  return { host: host.toLowerCase().replace(/\.$/, ''), port: Number(port) };
};

export const urlTarget = (url: URL): Target => ({ host: bareHost(url), port: portNumber(url) });

/** Returns the addresses that are known without a name server, or undefined for a name. */
const literalAddresses = (host: string): readonly string[] | undefined => {
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  return ipaddr.isValid(host) ? canonical(host) : undefined;
};

const canonical = (ip: string): readonly string[] =>
  reachableAddresses(ip).map((address) => address.toString().replace(/%.*/, ''));

/** Returns whether a packet to that address stays on this machine. */
const isOwn = (ip: string): boolean => {
  const found = addressClass(ipaddr.parse(ip));
  if (found === 'loopback' || found === 'unspecified') return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => canonical(address).includes(ip)),
  );
};

/**
 * Standin's own components, and other targets that must not be reached through Standin, regardless of the address policy. A
 * component on this machine is blocked at all of this machine's addresses. A component is not recognized behind the address of
 * another Service, because the Service's endpoints are not visible from here.
 */
export class RefusedTargets {
  readonly #targets: KnownTarget[] = [];
  readonly #lookup: Lookup;

  constructor(targets: readonly Target[], lookup: Lookup = lookupAll) {
    this.#lookup = lookup;
    for (const target of targets) this.add(target);
  }

  add({ host, port }: Target): void {
    this.#targets.push({ host, port, addresses: literalAddresses(host) ?? [], lookedUp: undefined });
  }

  /**
   * Returns the reason why a connection to that host and port is blocked, as a sentence without a full stop, or undefined if it is
   * not blocked. Compares names literally.
   */
  check(target: Target): string | undefined {
    const refusal = this.refuse(target);
    return refusal && `${refusal.address} is ${refusal.kind}`;
  }

  /** Works like `check`, but returns the parts of the reason, for callers that must not show the address to everyone. */
  refuse({ host, port }: Target): AddressRefusal | undefined {
    const targets = this.#targets.filter((target) => target.port === port);
    if (targets.length === 0) return undefined;
    const addresses = literalAddresses(host) ?? [];
    const isRefused = targets.some(
      (target) =>
        target.host === host ||
        addresses.some((ip) => target.addresses.includes(ip) || (isOwn(ip) && target.addresses.some(isOwn))),
    );
    return isRefused
      ? { address: `${host} on port ${port}`, kind: 'a component of Standin or of the cluster, which is never allowed' }
      : undefined;
  }

  /**
   * Looks up the names of targets on that port again if their addresses may have changed. Never rejects. Waits for no more than
   * one second.
   */
  async refresh(port: number): Promise<void> {
    const now = performance.now();
    const looks = this.#targets
      .filter((target) => target.port === port && literalAddresses(target.host) === undefined)
      .map((target) => {
        const { lookedUp } = target;
        if (lookedUp !== undefined && now - lookedUp.atMs < REFRESH_MS) return lookedUp.done;
        target.lookedUp = { atMs: now, done: this.#lookUp(target) };
        return target.lookedUp.done;
      });
    if (looks.length === 0) return;
    const waiting = new AbortController();
    const tooLong = delay(REFRESH_WAIT_MS, undefined, { signal: waiting.signal, ref: false });
    await Promise.race([Promise.all(looks), tooLong]);
    waiting.abort();
  }

  /** Looks up the target's name. If the lookup fails, the target keeps its addresses. */
  async #lookUp(target: KnownTarget): Promise<void> {
    const found = await this.#lookup(target.host).catch(() => undefined);
    if (found !== undefined) target.addresses = found.flatMap(({ address }) => canonical(address));
  }
}

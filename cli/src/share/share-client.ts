/** What `standin share` asks for. */
interface WantedShare {
  readonly id: string;
  /** `24h`; at most 30d. */
  readonly expiresIn: string;
}

interface MadeShare {
  /** Of the Share: deleting it revokes the link. */
  readonly name: string;
  readonly url: string;
  /** RFC 3339. */
  readonly expiresAt: string;
  /** False: the operator has not looked at it yet, and until then the link shows nothing. */
  readonly isAccepted: boolean;
}

/** Where `standin share` makes links: the dashboard of a `standin dev` on this machine, or of a cluster. */
export interface ShareClient {
  /** Rejects with a `PlainError` that says why there is no link. */
  create(wanted: WantedShare): Promise<MadeShare>;
}

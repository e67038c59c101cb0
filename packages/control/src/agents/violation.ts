/** The agent, or what has taken its place, said something that the protocol does not allow. Its cell is hostile or broken. */
export class ProtocolViolation extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProtocolViolation";
  }
}

/** The connection ended or gave no answer. `begun`: the agent had greeted, so the call may have been done. */
export class ConnectionLost extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConnectionLost";
  }
}

/** The agent did not say or take anything for as long as the call allows. */
export class NoAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NoAnswer";
  }
}

/**
 * Frames of the agent protocol (`native/agent/PROTOCOL.md`): `u32 length · u8 type · payload`, big-endian, length of the payload.
 * The numbers are pinned by golden bytes: an older agent in a long-running cell keeps being served.
 */
export const frameType = {
  hello: 1,
  call: 2,
  result: 3,
  error: 4,
  data: 5,
  end: 6,
  event: 7,
  output: 8,
  control: 9,
} as const;

export type FrameType = (typeof frameType)[keyof typeof frameType];

/** Bytes before each payload. */
export const frameHeaderBytes = 5;

/** Largest payload of one frame, bytes. Both sides end the connection on a larger one. */
export const framePayloadLimitBytes = 1_048_576;

/** Protocol versions the host programs speak: this one and, once there is one, the one before. */
export const agentProtocol = { current: 1, oldest: 1 } as const;

/** First byte of an OUTPUT frame. A PTY writes everything as `stdout`. */
export const outputStream = { stdout: 1, stderr: 2 } as const;

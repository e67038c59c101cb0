import type { AgentStream } from "@holdfast/contract";
import type { Agent, Download } from "../domain/agents.ts";

/** The agent of a computer that counts as used for as long as something is streamed from it. `use` begins that and answers how to end it. */
export const usedAgent = (agent: Agent, use: () => () => void): Agent => ({
  plain: (method, params, options) => agent.plain(method, params, options),
  upload: (method, params, body, options) => agent.upload(method, params, body, options),
  download: (method, params, options) =>
    during(use(), (done) =>
      agent.download(method, params, options).then((download) => streamed(download, done)),
    ),
  attach: (params, options) =>
    during(use(), async (done) => {
      const attachment = await agent.attach(params, options);
      return {
        ...streamed(attachment, done),
        write: (bytes) => attachment.write(bytes),
        resize: (columns, rows) => attachment.resize(columns, rows),
        endInput: () => attachment.endInput(),
      };
    }),
});

/** What does not come about is not used. */
const during = async <T>(done: () => void, begin: (done: () => void) => Promise<T>): Promise<T> => {
  try {
    return await begin(done);
  } catch (error) {
    done();
    throw error;
  }
};

const streamed = <M extends AgentStream>(download: Download<M>, done: () => void): Download<M> => ({
  head: download.head,
  pieces: endingWith(download.pieces, done),
  end: () => download.end(),
  close: () => {
    done();
    download.close();
  },
});

const endingWith = <T>(source: AsyncIterable<T>, done: () => void): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = source[Symbol.asyncIterator]();
    return {
      next: async () => {
        try {
          const next = await iterator.next();
          if (next.done === true) done();
          return next;
        } catch (error) {
          done();
          throw error;
        }
      },
      return: async () => {
        done();
        return (await iterator.return?.()) ?? { done: true, value: undefined };
      },
    };
  },
});

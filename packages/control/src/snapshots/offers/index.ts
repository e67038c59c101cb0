export { Accepting, type AdmittedAcceptance } from "./accepting.ts";
export { type AdmittedOffer, Offers } from "./offers.ts";
export { Reviewing } from "./reviewing.ts";
export { offerView } from "./view.ts";

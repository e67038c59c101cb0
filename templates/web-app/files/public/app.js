const element = (id) => document.getElementById(id);

const show = ({ waves, watching, time }) => {
  const number = element("waves");
  if (number.textContent !== String(waves)) {
    number.textContent = waves;
    // Started anew for each wave, also while the last one still runs.
    number.getAnimations().forEach((animation) => animation.cancel());
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
      number.animate([{ transform: "scale(1.18)" }, { transform: "scale(1)" }], {
        duration: 320,
        easing: "ease-out",
      });
    }
  }
  element("watching").textContent = watching;
  element("clock").textContent = time.slice(11, 19);
  element("clock").dateTime = time;
};

let source;

const connect = () => {
  source = new EventSource("/live");
  source.addEventListener("open", () => (element("stream").textContent = "Live, once a second"));
  source.addEventListener(
    "error",
    () => (element("stream").textContent = "The stream broke off; trying again"),
  );
  source.addEventListener("message", ({ data }) => show(JSON.parse(data)));
};

// A page that nobody looks at lets go of its stream: an open one keeps the computer awake.
const follow = () => {
  source?.close();
  if (document.hidden) element("stream").textContent = "Paused while the page is in the background";
  else connect();
};

document.addEventListener("visibilitychange", follow);
follow();

const wave = async () => {
  const reply = await fetch("/api/waves", { method: "POST" }).catch(() => undefined);
  if (reply?.ok) show(await reply.json());
  else element("stream").textContent = "The wave did not arrive; try again";
};

element("wave").addEventListener("submit", (event) => {
  event.preventDefault();
  void wave();
});

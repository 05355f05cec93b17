(function(){
"use strict";
var log=document.getElementById("log"),state=document.getElementById("live");
function say(text,on){state.textContent=text;state.className=on?"on":"";}
function build(html){var t=document.createElement("template");t.innerHTML=html;return t.content.firstElementChild;}
function opened(section){return Array.prototype.map.call(section.querySelectorAll("details"),function(d){return d.open;});}
function put(change){
var old=document.getElementById(change.at);
if(change.gone){if(old)old.remove();return;}
var fresh=build(change.html);
if(!fresh)return;
if(old){var was=opened(old),now=fresh.querySelectorAll("details");was.forEach(function(o,i){if(now[i])now[i].open=o;});old.replaceWith(fresh);return;}
var next=Array.prototype.find.call(log.children,function(s){return s.id>change.at;});
log.insertBefore(fresh,next||null);
}
var source=new EventSource(document.currentScript.dataset.events);
source.addEventListener("open",function(){say("Live",true);});
source.addEventListener("error",function(){say(source.readyState===2?"Not live any more; reload to try again":"Connecting …",false);});
source.addEventListener("head",function(e){document.getElementById("top").innerHTML=JSON.parse(e.data).html;});
source.addEventListener("message",function(e){
var end=window.innerHeight+window.scrollY>=document.body.scrollHeight-80;
JSON.parse(e.data).forEach(put);
if(end)window.scrollTo(0,document.body.scrollHeight);
});
source.addEventListener("end",function(){source.close();say("No longer shared",false);});
})();

"""Texts of several kinds for measuring: what every Python installation has, and Chinese sentences put together at random.

passage("chinese", random.Random(1), 3_000)
"""

import json
import random
import re
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from opencode_tui.engine.provider.model_table import find_table

Kind = Literal["code", "prose", "chinese", "json"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SENTENCES = """
昨天下午我们检查了{1}的日志，发现{2}在凌晨两点钟突然停止响应。|{3}说这个问题以前也出现过，只是没有人认真追查原因。
请先备份{1}，再把{2}升级到最新的版本，最后重新启动整个系统。|为了节省时间，{3}建议把测试分成三组，分别在不同的机器上运行。
春天到了，{4}的樱花开得正好，许多人带着孩子去公园里散步、拍照。|{5}的价格在过去十年里上涨了将近百分之四十，而普通人的收入并没有跟上。
如果文件不存在，{2}应该返回明确的错误信息，而不是悄悄地忽略它。|他在{4}住了七年，学会了当地的方言，也习惯了那里潮湿的冬天。
这本书介绍了{5}的历史，从古代一直写到二十世纪末。|{3}把桌上的资料整理好，关掉电脑，然后坐最后一班地铁回家。
函数的第一个参数是{1}的路径，第二个参数决定是否覆盖已有的内容。|会议原定于星期三上午十点举行，因为天气的原因推迟到了下个星期。
我们需要考虑两种情况：一种是{2}没有收到请求，另一种是收到了但是处理失败。|科学家认为{5}对环境的影响比原来估计的要严重得多。
{3}负责前端的界面，{6}负责后端的接口，两个人每天早上开会十五分钟。|在{4}的老城区，狭窄的街道两旁全是卖小吃和手工艺品的店铺。
缓存失效以后，{2}会重新读取{1}，这个过程大约需要三百毫秒。|老师告诉学生们，学习{5}最重要的不是记住结论，而是理解推理的过程。
由于权限不足，程序无法写入{1}，请联系管理员或者换一个目录再试。|雨一直下到傍晚，河水涨了起来，村里的人都站在桥上看。
把列表按照修改时间排序，只保留最近的二十条记录，其余的全部删除。|{6}从来没有想过自己会成为一名医生，直到母亲生了那场大病。
这次更新修复了{2}的内存泄漏，并且把启动时间缩短了一半。|根据统计，去年到{4}旅游的外国游客超过了八百万人次。
"""
_WORDS = {
    1: "配置文件|数据库|用户目录|临时文件夹|订单表|环境变量|访问记录|主分支|安装包|证书",
    2: "消息队列|登录服务|爬虫程序|调度器|支付网关|监控脚本|搜索引擎|编译器|代理服务器|解析模块",
    3: "王工程师|李经理|张老师|项目负责人|新来的同事|刘敏|值班的管理员|我的同学|陈博士|产品经理",
    4: "杭州|成都|西安|南京|厦门|哈尔滨|昆明|台北|苏州|敦煌",
    5: "人工智能|海洋运输|粮食|古典音乐|天文学|纺织工业|新能源汽车|城市规划|儿童文学|热带雨林",
    6: "赵宇|孙晓燕|周明|吴老板|郑律师|她的哥哥|何教授|那位记者|林护士|小马",
}


def passage(kind: Kind, chance: random.Random, size: int) -> str:
    """Return a text of a kind with about so many characters."""
    if kind == "chinese":
        return _chinese(chance, size)
    text = _library(kind)
    start = chance.randrange(len(text) - size)
    return text[start : start + size]


def _chinese(chance: random.Random, size: int) -> str:
    sentences = _SENTENCES.replace("|", "\n").split("\n")
    words = {number: text.split("|") for number, text in _WORDS.items()}
    found: list[str] = []
    while sum(map(len, found)) < size:
        sentence = chance.choice(sentences)
        found.append(re.sub(r"\{(\d)\}", lambda slot: chance.choice(words[int(slot[1])]), sentence))
        if chance.random() < 0.2:
            found.append("\n\n")
    return "".join(found)


@lru_cache
def _library(kind: Kind) -> str:
    if kind == "prose":
        from pydoc_data.topics import topics

        return "\n".join(line for text in topics.values() for line in text.split("\n") if not line.startswith("  "))
    if kind == "json":
        table = find_table()
        assert table is not None
        return json.dumps(json.loads(table.read_bytes()), indent=2)
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(folder.glob("[a-m]*.py"))[:80]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)
